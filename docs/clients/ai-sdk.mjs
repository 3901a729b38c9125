// The AI SDK in front of Foldgate. docs/clients/ai-sdk.md shows its parts.
//
//	OPENAI_API_KEY=… node ai-sdk.mjs MODEL
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, streamText } from 'ai';

const messages = [{ role: 'user', content: 'hello' }];

const foldgate = createOpenAICompatible({
  name: 'foldgate',
  apiKey: process.env.OPENAI_API_KEY ?? 'none',
  baseURL: 'http://127.0.0.1:8080/v1', // the one line
});
const model = foldgate(process.argv[2] ?? 'stand-in');

try {
  const { text, response } = await generateText({ model, messages, abortSignal: AbortSignal.timeout(60_000) });
  console.log(text);
  console.log(response.headers['foldgate-fold']);
} catch (error) {
  if (!APICallError.isInstance(error) || error.data?.error?.code !== 'context_length_exceeded') throw error;
  console.log(error.responseHeaders['foldgate-fold'], error.message);
}

for await (const piece of streamText({ model, messages }).textStream) process.stdout.write(piece);
console.log();
