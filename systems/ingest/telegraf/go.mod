module waggle/telegraf

go 1.25.5
godebug x509negativeserial=1

require github.com/influxdata/telegraf v1.37.2

