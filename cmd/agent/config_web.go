package main

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/web"
)

// webTable is the part of run's table that says who may read what the agent serves.
func (c *config) webTable() flags.Table {
	return flags.Table{
		{
			Name: "web-config-file", Variable: "WEB_CONFIG_FILE", Value: "FILE",
			Help: "TLS and passwords for the HTTP server, in the format of prometheus/exporter-toolkit; the agent " +
				"rereads this file and the files it names when they change",
			Set: c.setWebConfigFile,
		},
		{
			Name: "web-auth", Variable: "WEB_AUTH", Value: "auto|local|none|kubernetes", Default: webAuthAuto,
			Help: "who may read: local lets loopback clients (kubectl port-forward, kubectl podlapse) read " +
				"everything, and other clients only metrics and health checks; none lets every client read " +
				"everything; kubernetes requires a bearer token that the API server accepts (TokenReview) and " +
				"allows to get the nonResourceURL /metrics or /podlapse/PATH (SubjectAccessReview); auto is none " +
				"if --web-config-file requires passwords or client certificates, otherwise local",
			Set: c.setWebAuth,
		},
		{
			Name: "web-hosts", Variable: "WEB_HOSTS", Value: "NAME[,NAME]...",
			Help: "host names to accept over loopback besides localhost and IP addresses, for example of a proxy in " +
				"the same pod; requests for other names are refused, because they can come from foreign web pages",
			Set: c.setWebHosts,
		},
	}
}

func (c *config) setWebConfigFile(value string) (err error) {
	if c.webConfigFile = value; value != "" {
		c.webAsks, err = web.CheckConfigFile(value)
	}
	return err
}

// setWebAuth comes after setWebConfigFile in the table.
func (c *config) setWebAuth(value string) error {
	err := flags.Choice(&c.webAuth, webAuthAuto, webAuthLocal, webAuthNone, webAuthKubernetes)(value)
	switch {
	case err != nil:
		return err
	case c.webAuth == webAuthKubernetes && c.webAsks.Passwords:
		return errors.New("kubernetes cannot be combined with basic_auth_users in --web-config-file: a request " +
			"carries either a token or a password")
	case c.webAuth == webAuthAuto && (c.webAsks.Passwords || c.webAsks.Certificates):
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
