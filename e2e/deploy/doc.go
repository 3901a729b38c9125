// Package deploy holds the tests of what Foldgate is deployed with: the Dockerfile,
// docker-compose.yml and deploy/. It is a module of its own, since the loaders and
// parsers that it needs are no business of who uses Foldgate.
//
// Nothing here needs a container engine. The tests read each file with the code of
// the program that reads it in earnest (compose-go, BuildKit, Prometheus, the
// collector, Kubernetes' types, Grafana's), and run the services of docker-compose.yml
// as plain processes on loopback: the gateways and the stand-in as the Dockerfile
// builds them, with redis-server, nginx and Prometheus of this machine. Every service
// has an address of its own in 127.0.0.0/8 and keeps its ports, so what is changed in
// a configuration is its names and folders, and the little that localized says.
//
// Not run here: the images themselves, Grafana, a cluster. docs/deploying.md says so
// too.
package deploy
