module waggle/kine

go 1.26.5

require github.com/k3s-io/kine v0.17.5

