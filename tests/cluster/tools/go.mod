module waggle/cluster

go 1.26
