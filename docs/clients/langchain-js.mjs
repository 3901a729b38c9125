// LangChain for JavaScript in front of Foldgate. docs/clients/langchain.md shows its
// parts.
//
//	OPENAI_API_KEY=… node langchain-js.mjs MODEL
import { ChatOpenAI } from '@langchain/openai';

const messages = [{ role: 'user', content: 'hello' }];

const chat = new ChatOpenAI({
  model: process.argv[2] ?? 'stand-in',
  apiKey: process.env.OPENAI_API_KEY ?? 'none',
  configuration: { baseURL: 'http://127.0.0.1:8080/v1' }, // the one line
});

console.log((await chat.invoke(messages)).content);
for await (const chunk of await chat.stream(messages)) process.stdout.write(chunk.content);
console.log();

const watched = new ChatOpenAI({
  model: process.argv[2] ?? 'stand-in',
  apiKey: process.env.OPENAI_API_KEY ?? 'none',
  timeout: 20_000,
  configuration: {
    baseURL: 'http://127.0.0.1:8080/v1',
    defaultHeaders: { 'X-Stainless-Timeout': '20' },
    fetch: async (...request) => {
      const response = await fetch(...request);
      console.log(response.headers.get('foldgate-fold'));
      return response;
    },
  },
});

try {
  await watched.invoke(messages);
} catch (error) {
  if (error.code !== 'context_length_exceeded') throw error;
  console.log(error.message);
}
