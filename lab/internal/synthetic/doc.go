// Package synthetic plays a node that is not there: its pods, what a kubelet tells the API server of them, and
// the container runtime that an agent asks about them. So hundreds of pods start on a machine that could not
// run them, and cost the API server what real ones would.
package synthetic
