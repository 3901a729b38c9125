module github.com/foldgate/foldgate

go 1.26
