// The OpenAI SDK for Node in front of Foldgate. docs/clients/openai-node.md shows
// its parts.
//
//	OPENAI_API_KEY=… node openai-node.mjs MODEL
import OpenAI from 'openai';

const model = process.argv[2] ?? 'stand-in';
const messages = [{ role: 'user', content: 'hello' }];

const client = new OpenAI({
  apiKey: process.env.OPENAI_API_KEY ?? 'none',
  baseURL: 'http://127.0.0.1:8080/v1', // the one line
});

const { data, response } = await client.chat.completions.create({ model, messages }).withResponse();
console.log(data.choices[0].message.content);
console.log(response.headers.get('foldgate-fold'));

try {
  await client.chat.completions.create({ model, messages }, { timeout: 20_000 });
} catch (error) {
  if (!(error instanceof OpenAI.BadRequestError) || error.code !== 'context_length_exceeded') throw error;
  console.log(error.headers.get('foldgate-fold'), error.message);
}

const stream = await client.chat.completions.create({ model, messages, stream: true });
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');
console.log();
