// The Kubernetes control plane as one binary that is started under the name of the part it is to be: a real etcd,
// kube-apiserver, kube-scheduler and kube-controller-manager, pinned by go.mod, for tests on this machine alone.
// etcd is among them in the version that this Kubernetes is built with, so that nothing but Go has to be installed.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	// Whoever starts a part holds a pipe to its standard input: when that one is gone, however it went, the part goes
	// too. With a terminal or /dev/null nothing is watched.
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0 {
		go func() {
			io.Copy(io.Discard, os.Stdin)
			os.Exit(0)
		}()
	}
	parts := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllermanager.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	}
	name := filepath.Base(os.Args[0])
	if name == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	part, known := parts[name]
	if !known {
		fmt.Fprintf(os.Stderr, "started as %q; link it as etcd, kube-apiserver, kube-controller-manager or kube-scheduler\n", name)
		os.Exit(1)
	}
	os.Exit(cli.Run(part()))
}
