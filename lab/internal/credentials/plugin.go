// Package credentials is the lab's credential provider plugin. The kubelet runs the plugin before it pulls an image,
// and the plugin prints the user name and the password for the lab's registry. Scenarios can make the plugin slow or
// make it fail. The plugin logs each run with its time.
//
// The plugin implements the API credentialprovider.kubelet.k8s.io/v1. The package uses only the standard library,
// because it is compiled into a small static program.
package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// PluginName is the file name of the program.
const PluginName = "podlapse-lab-credentials"

// APIVersion is the version of the API between the kubelet and the plugin.
const APIVersion = "credentialprovider.kubelet.k8s.io/v1"

type request struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Image      string `json:"image"` // image reference without the tag and the digest
}

type response struct {
	APIVersion    string           `json:"apiVersion"`
	Kind          string           `json:"kind"`
	CacheKeyType  string           `json:"cacheKeyType"`
	CacheDuration string           `json:"cacheDuration"`
	Auth          map[string]Login `json:"auth"` // the key is the registry's host
}

// Main responds to one request and returns the exit status. The only argument is the directory of the Store. If the
// plugin fails, the kubelet logs the plugin's stderr. Main therefore never writes the password to stderr.
func Main(arguments []string, stdin io.Reader, stdout, stderr io.Writer) int {
	startedAt := time.Now()
	if err := run(arguments, startedAt, stdin, stdout); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func run(arguments []string, startedAt time.Time, stdin io.Reader, stdout io.Writer) error {
	if len(arguments) != 1 {
		return fmt.Errorf("the credential provider plugin requires one argument (the directory of the plugin's "+
			"files), but got %d arguments", len(arguments))
	}
	const most = 1 << 20
	var wanted request
	if err := json.NewDecoder(io.LimitReader(stdin, most)).Decode(&wanted); err != nil {
		return fmt.Errorf("parse the kubelet's request: %w", err)
	}
	if wanted.APIVersion != APIVersion || wanted.Kind != "CredentialProviderRequest" {
		return fmt.Errorf("unknown request from the kubelet: got the kind %q and the API version %q, want the kind "+
			"\"CredentialProviderRequest\" and the API version %q", wanted.Kind, wanted.APIVersion, APIVersion)
	}
	store := Store{Dir: arguments[0]}
	login, failed := store.login(wanted.Image)
	entry := Entry{Image: wanted.Image, StartAt: startedAt, EndAt: time.Now()}
	if failed != nil {
		entry.Error = failed.Error()
	}
	if err := errors.Join(failed, store.appendEntry(entry)); err != nil {
		return err
	}
	host, _, _ := strings.Cut(wanted.Image, "/")
	// The cache duration 0s disables the kubelet's cache, so the kubelet runs the plugin before each pull.
	return json.NewEncoder(stdout).Encode(response{APIVersion: APIVersion, Kind: "CredentialProviderResponse",
		CacheKeyType: "Image", CacheDuration: "0s", Auth: map[string]Login{host: login}})
}

// login returns the user name and the password for the registry. If the image has a fault, login first waits for the
// delay of the fault. If the fault contains an error, login then returns this error.
func (s Store) login(image string) (Login, error) {
	faults, err := s.readFaults()
	if err != nil {
		return Login{}, err
	}
	for _, fault := range faults {
		if fault.Image != image {
			continue
		}
		time.Sleep(fault.Delay)
		if fault.Fail != "" {
			return Login{}, errors.New(fault.Fail)
		}
	}
	return s.Login()
}
