package main

import (
	"context"
	"fmt"
	"time"

	"github.com/podlapse/podlapse/internal/kubeauth"
	"github.com/podlapse/podlapse/internal/web"
)

// partWebAuth is the name of the token reviews in the agent's health status (health.Board).
const partWebAuth = "web_auth"

// With --web-auth=kubernetes, newAccess returns the function that reviews tokens. Without --web-auth=kubernetes,
// newAccess returns nil.
func newAccess(d deps) (web.Access, error) {
	if d.config.webAuth != webAuthKubernetes {
		return nil, nil
	}
	report := d.board.Register(partWebAuth, "")
	report(true, "no token received yet")
	reviewer, err := kubeauth.New(d.api.config, report, time.Now)
	if err != nil {
		return nil, fmt.Errorf("--web-auth: %w", err)
	}
	return func(ctx context.Context, client, token, path string) (web.Verdict, error) {
		verdict, err := reviewer.Review(ctx, kubeauth.Request{Client: client, Token: token, Path: path})
		return web.Verdict(verdict), err
	}, nil
}
