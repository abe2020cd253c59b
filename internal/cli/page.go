package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/net/netutil"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/resourcetype"
	"github.com/podlapse/podlapse/internal/terminal"
)

// maxPageConnections is the maximum number of open connections from browsers. If this number of connections is open,
// new connections wait until one of the open connections closes.
const maxPageConnections = 32

// pageConfig selects the agent and the local port.
type pageConfig struct {
	target
	port int
}

func (c *pageConfig) table() flags.Table {
	return slices.Concat(flags.Table{{
		Name: "port", Value: "PORT", Default: "0",
		Help: "local port for the page, 1 to 65535. 0: any free port",
		Set: func(value string) error {
			port, err := strconv.ParseUint(value, 10, 16)
			if err != nil {
				return fmt.Errorf("invalid port %q: must be 0 to 65535", value)
			}
			c.port = int(port)
			return nil
		},
	}}, c.target.clusterTable())
}

func runPage(ctx context.Context, call Call) int {
	var c pageConfig
	agentQuery, rest, code, ok := begin(call, c.table(), &c.target, c.check, 2)
	if !ok {
		return code
	}
	defer agentQuery.close()
	node, err := oneNode(rest, c.node)
	switch {
	case err != nil:
	case node == "":
		err = errors.New("a node name is required: to list the nodes, run the command \"nodes\"")
	case agentQuery.cluster == nil:
		err = errors.New("the command \"page\" requires a kubeconfig: set --kubeconfig, or open the agent's URL in a " +
			"browser, for example " + localServer)
	}
	if err != nil {
		return call.FailUsage(err)
	}
	return agentQuery.page(ctx, c, node)
}

// nodeName returns the node's name from the arguments or from --node: see oneNode. If the command queries one agent at
// a URL, nodeName refuses a name. An agent at a URL cannot be selected by the name of its node.
func (r agentAccess) nodeName(args []string, flag string) (string, error) {
	name, err := oneNode(args, flag)
	if err == nil && name != "" {
		err = r.checkNodeName()
	}
	return name, err
}

// oneNode returns the node's name from the arguments, which have the form NODE, node/NODE or node NODE. Without
// arguments, oneNode returns the value of --node.
func oneNode(args []string, flag string) (string, error) {
	node := flag
	if len(args) > 0 {
		node = args[len(args)-1]
	}
	kind := kindNode
	if first, name, ok := strings.Cut(node, "/"); ok {
		kind, _ = resourcetype.KindOf(first)
		node = name
	}
	if len(args) == 2 {
		kind, _ = resourcetype.KindOf(args[0])
	}
	switch {
	case kind != kindNode, len(args) > 0 && node == "":
		return "", fmt.Errorf("invalid argument %q: must be the name of one node",
			terminal.ShortName(strings.Join(args, " ")))
	case flag != "" && flag != node:
		return "", fmt.Errorf("the argument names node %s, but --node names node %s: remove the argument or --node",
			terminal.ShortName(node), terminal.ShortName(flag))
	}
	return node, nil
}

// pageServer forwards connections from a local port to the agent of a node.
type pageServer struct {
	agentQuery
	node string

	mu    sync.Mutex
	agent agents.Agent // current agent of the node; changes if another pod replaces the agent's pod
}

func (a agentQuery) page(ctx context.Context, c pageConfig, node string) int {
	asked, stop := context.WithTimeout(ctx, c.limit)
	defer stop()
	found, err := a.agents(asked, node)
	if err != nil {
		return a.fail(err)
	}
	s := &pageServer{agentQuery: a, node: node, agent: found[0]}
	if err := s.probe(asked); err != nil {
		return a.fail(fmt.Errorf("node %s: %w", node, err))
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)))
	if err != nil {
		return a.fail(fmt.Errorf("listen on local port %d: %w: choose another port with --port", c.port, err))
	}
	url := fmt.Sprintf("%s://%s/", s.agent.Scheme(), listener.Addr())
	ready := fmt.Sprintf("The page of node %s is at %s\nPress Ctrl-C to stop.\n", node, url)
	if code := a.write(ready); code != ExitOK {
		_ = listener.Close()
		return code
	}
	if err := s.serve(ctx, listener); err != nil {
		return a.fail(err)
	}
	return ExitOK
}

// probe checks that the agent responds over the port-forward.
func (s *pageServer) probe(ctx context.Context) error {
	transport := &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return s.agent.Dial(ctx) },
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the browser verifies certificates
		DisableKeepAlives: true,
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.agent.Scheme()+"://localhost/livez", nil)
	if err != nil {
		return fmt.Errorf("create the request to the agent: %w", err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// serve forwards connections until ctx is done. Before serve returns, it closes all connections.
func (s *pageServer) serve(ctx context.Context, listener net.Listener) error {
	var connections sync.WaitGroup
	defer connections.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	listener = netutil.LimitListener(listener, maxPageConnections)
	closed := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer closed()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("accept connection: %w", err)
		}
		connections.Go(func() {
			defer conn.Close()
			if err := s.forward(ctx, conn); err != nil && ctx.Err() == nil {
				s.note(fmt.Errorf("node %s: %w", s.node, err))
			}
		})
	}
}

// forward copies data in both directions until the browser or the agent closes the connection, or until ctx is done.
func (s *pageServer) forward(ctx context.Context, local net.Conn) error {
	remote, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer remote.Close()
	closed := context.AfterFunc(ctx, func() {
		_ = local.Close()
		_ = remote.Close()
	})
	defer closed()
	var sending sync.WaitGroup
	var sent atomic.Bool
	sending.Go(func() {
		_, _ = io.Copy(remote, local) // returns when the browser closes the connection
		sent.Store(true)
		_ = remote.Close()
	})
	err = copyToBrowser(local, remote)
	closedHere := sent.Load()
	_ = local.Close()
	sending.Wait()
	var browser *net.OpError // only errors of the connection to the browser have this type
	if closedHere || errors.As(err, &browser) {
		return nil
	}
	return err
}

// copyToBrowser copies the agent's responses to the browser. copyToBrowser does not use the method ReadFrom of a TCP
// connection, because ReadFrom returns the errors of both connections as *net.OpError.
func copyToBrowser(browser io.Writer, agent io.Reader) error {
	_, err := io.Copy(struct{ io.Writer }{browser}, agent)
	return err
}

// dial opens a connection to the agent. If the agent's pod no longer exists, dial finds the node's new agent.
func (s *pageServer) dial(ctx context.Context) (net.Conn, error) {
	s.mu.Lock()
	agent := s.agent
	s.mu.Unlock()
	asked, stop := context.WithTimeout(ctx, agentLimit)
	defer stop()
	conn, err := agent.Dial(asked)
	if err == nil {
		return conn, nil
	}
	found, again := s.agents(asked, s.node)
	if again != nil || found[0].Pod == agent.Pod {
		return nil, err
	}
	s.mu.Lock()
	s.agent = found[0]
	s.mu.Unlock()
	return found[0].Dial(asked)
}
