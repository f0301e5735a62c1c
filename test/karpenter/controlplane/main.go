// The Kubernetes control plane as one binary that is started under the name of the part it is to be: a real
// kube-apiserver, kube-scheduler and kube-controller-manager, pinned by go.mod, for tests on this machine alone.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	parts := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllermanager.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	}
	name := filepath.Base(os.Args[0])
	part, known := parts[name]
	if !known {
		fmt.Fprintf(os.Stderr, "started as %q; link it as kube-apiserver, kube-controller-manager or kube-scheduler\n", name)
		os.Exit(1)
	}
	os.Exit(cli.Run(part()))
}
