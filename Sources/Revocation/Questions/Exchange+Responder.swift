import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Outbox

extension Exchange {
    /// Runs `body` with an exchange over plain HTTP/1.1, for answers that prove themselves.
    ///
    /// It follows no redirect, uses no proxy, does not decompress answers, and logs nothing.
    static func withResponders<T: Sendable>(_ body: @Sendable (Exchange) async throws -> T) async throws -> T {
        var settings = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(5), read: .seconds(15)),
            proxy: nil,
            decompression: .disabled
        )
        settings.httpVersion = .http1Only
        // The register schedules the retries.
        settings.connectionPool.retryConnectionEstablishment = false
        settings.tracing.tracer = nil
        return try await HTTPClient.withHTTPClient(configuration: settings) { client in
            try await body(Exchange { request, timeout in await within(timeout) { await client.outcome(of: request, timeout) } })
        }
    }

    /// Waits for the whole answer: the client's own deadline covers only its head.
    private static func within(_ timeout: Duration, _ perform: @escaping @Sendable () async -> ExchangeOutcome) async -> ExchangeOutcome {
        await withTaskGroup(of: ExchangeOutcome.self) { group in
            group.addTask { await perform() }
            group.addTask {
                do {
                    try await Task.sleep(for: timeout)
                    return .failure(.timedOut)
                } catch {
                    return .failure(.shuttingDown)
                }
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? .failure(.shuttingDown)
        }
    }
}

extension HTTPClient {
    fileprivate func outcome(of request: OutboundRequest, _ timeout: Duration) async -> ExchangeOutcome {
        var prepared = HTTPClientRequest(url: request.url)
        prepared.method = HTTPMethod(rawValue: request.method.rawValue)
        for (name, value) in request.headers { prepared.headers.add(name: name, value: value) }
        prepared.body = .bytes(ByteBuffer(bytes: request.body))
        do {
            let response = try await execute(prepared, deadline: .now() + TimeAmount(timeout))
            let body = try await response.body.collect(upTo: request.maximumAnswerBytes)
            return .answer(HTTPAnswer(status: Int(response.status.code), body: Array(buffer: body)))
        } catch is CancellationError {
            return .failure(.shuttingDown)
        } catch is NIOTooManyBytesError {
            return .failure(.answerTooLarge)
        } catch let error as HTTPClientError where [HTTPClientError.connectTimeout, .deadlineExceeded, .readTimeout].contains(error) {
            return .failure(.timedOut)
        } catch {
            return .failure(.connectionFailed)
        }
    }
}
