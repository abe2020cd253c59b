// Package web is the agent's HTTP server: metrics, health checks, the web page and the read API
// over the timelines. cmd/agent calls Listen and then Run on a goroutine of its own; handlers run
// on one goroutine per request. The package holds no pod state: it creates every response from a
// snapshot taken while the request waits, and it changes nothing. Config.Access, Config.LocalOnly
// and Config.WebConfigFile decide who may read. Without them, every client that reaches the address
// may read everything.
package web
