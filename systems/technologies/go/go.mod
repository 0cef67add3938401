module technology

go 1.22
