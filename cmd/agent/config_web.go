package main

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/web"
)

// webTable lists the flags that control access to the HTTP server.
func (c *config) webTable() flags.Table {
	return flags.Table{
		{
			Name: "web-config-file", Variable: "WEB_CONFIG_FILE", Value: "FILE",
			Help: "file with TLS settings and passwords for the HTTP server, in the format of " +
				"prometheus/exporter-toolkit. After each change, the agent reloads this file and all files that " +
				"this file names",
			Set: c.setWebConfigFile,
		},
		{
			Name: "web-auth", Variable: "WEB_AUTH", Value: "auto|local|none|kubernetes", Default: webAuthAuto,
			Help: "access control for clients. \"local\": loopback clients (kubectl port-forward, kubectl podlapse) " +
				"read everything, and other clients read only metrics and health checks. \"none\": every client " +
				"reads everything. \"kubernetes\": each client must send a bearer token. The API server must accept " +
				"the token (TokenReview), and must allow the token's user to get the nonResourceURL /metrics or " +
				"/podlapse/PATH (SubjectAccessReview). \"auto\": if --web-config-file requires passwords or client " +
				"certificates, the same as \"none\". If not, the same as \"local\"",
			Set: c.setWebAuth,
		},
		{
			Name: "web-hosts", Variable: "WEB_HOSTS", Value: "NAME[,NAME]...",
			Help: "additional host names that the agent accepts in the Host header of requests over loopback, for " +
				"example the name of a proxy in the same pod. The agent accepts these names, localhost and IP " +
				"addresses, and refuses every other name. This check protects against DNS rebinding, in which a " +
				"foreign web page sends requests to the agent",
			Set: c.setWebHosts,
		},
	}
}

func (c *config) setWebConfigFile(value string) (err error) {
	if c.webConfigFile = value; value != "" {
		c.webRequires, err = web.CheckConfigFile(value)
	}
	return err
}

// setWebAuth sets --web-auth. The table must list --web-config-file before --web-auth, because setWebAuth uses the
// settings in that file.
func (c *config) setWebAuth(value string) error {
	err := flags.Choice(&c.webAuth, webAuthAuto, webAuthLocal, webAuthNone, webAuthKubernetes)(value)
	switch {
	case err != nil:
		return err
	case c.webAuth == webAuthKubernetes && c.webRequires.Passwords:
		return errors.New("\"kubernetes\" cannot be combined with basic_auth_users in --web-config-file, because an " +
			"HTTP request cannot contain both a token and a password: use --web-auth=auto, or remove basic_auth_users")
	case c.webAuth == webAuthAuto && (c.webRequires.Passwords || c.webRequires.Certificates):
		c.webAuth = webAuthNone
	case c.webAuth == webAuthAuto:
		c.webAuth = webAuthLocal
	}
	return nil
}

func (c *config) setWebHosts(value string) error {
	if value == "" {
		return nil
	}
	for name := range strings.SplitSeq(value, ",") {
		if len(validation.IsDNS1123Subdomain(strings.ToLower(name))) > 0 {
			return fmt.Errorf("invalid name %q: must be a DNS name without a port, for example agent.example", name)
		}
		c.webHosts = append(c.webHosts, name)
	}
	return nil
}
