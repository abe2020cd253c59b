// Package web is the agent's HTTP server. The server provides metrics, health checks, the web page, and the read API
// for the timelines. cmd/agent calls Listen and then calls Run on a separate goroutine. Each request has its own
// goroutine. The package holds no pod state. For each request, the package takes a snapshot, creates the response from
// the snapshot, and changes nothing. Config.Access, Config.LocalOnly and Config.WebConfigFile restrict the clients that
// can read data. If no setting restricts the clients, every client that reaches the address can read everything.
package web
