package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/kubeauth"
	"github.com/podlapse/podlapse/internal/web"
)

// partWebAuth is what the health board calls the API server as the judge of tokens.
const partWebAuth = "web_auth"

// newAccess makes what judges tokens, or nil when everybody may read.
func newAccess(c config, api *rest.Config, board *health.Board) (web.Access, error) {
	if c.webAuth != webAuthKubernetes {
		return nil, nil
	}
	report := board.Register(partWebAuth, "")
	report(true, "no token received yet")
	reviewer, err := kubeauth.New(api, report, time.Now)
	if err != nil {
		return nil, fmt.Errorf("--web-auth: %w", err)
	}
	return func(ctx context.Context, client, token, path string) (web.Verdict, error) {
		verdict, err := reviewer.Review(ctx, kubeauth.Request{Client: client, Token: token, Path: path})
		return web.Verdict(verdict), err
	}, nil
}
