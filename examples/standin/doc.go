// Standin is a model server to practise with: small, offline, without a key. It is
// what docs/operating.md puts behind a gateway.
//
//	standin [-listen 127.0.0.1:8000] [-window 4000]   serves
//	standin request [-turns 60] [-stream]             prints a chat request
//
// What a request gets depends on the model that it names:
//
//	stand-in   an answer of one sentence, or, where the messages are over the window,
//	           the 400 with which OpenAI refuses them
//	summary    a summary of some lines, at once
//	slow       the same, a word a second
//	silent     the beginning of an answer, and then nothing
//	broken     500
//
// Every other name is answered as stand-in is. It is for trying things out on
// loopback and guards against nothing.
package main
