import HTTPRequesting
import NIOHTTP1
import NIOSSL

extension Exchange {
    /// How requests are sent.
    package struct Configuration: Sendable {
        /// PEM files with additional trusted certificates, for tests and demos.
        package var extraRootPaths: [String] = []
        package var connectTimeout: Duration = .seconds(5)

        package init() {}
    }

    /// The longest URL of a request. Servers, Apple's among them, refuse longer ones.
    static let maximumURLBytes = 8192

    /// Runs `body` with an exchange over HTTP/1.1 and TLS.
    ///
    /// It verifies certificates and host names, follows no redirect, uses no proxy, does not decompress answers, and logs nothing.
    ///
    /// - Throws: when a file of `extraRootPaths` cannot be used.
    package static func withClient<T: Sendable>(
        _ configuration: Configuration,
        orUsing exchange: Exchange? = nil,
        _ body: @Sendable (Exchange) async throws -> T
    ) async throws -> T {
        if let exchange { return try await body(exchange) }
        let tls = try TLSConfiguration.client(trusting: configuration.extraRootPaths)
        let client = try DirectClient(tls: tls, connectTimeout: configuration.connectTimeout)
        defer { client.close() }
        return try await body(Exchange { request, timeout in await client.outcome(of: request, timeout: timeout) })
    }
}

extension DirectClient {
    fileprivate func outcome(of request: OutboundRequest, timeout: Duration) async -> ExchangeOutcome {
        guard request.url.utf8.count <= Exchange.maximumURLBytes else { return .failure(.invalidAddress) }
        let address: HTTPAddress
        do throws(HTTPAddressError) { address = try HTTPAddress(request.url) } catch { return .failure(.invalidAddress) }
        let http = HTTPRequest(
            HTTPMethod(rawValue: request.method.rawValue),
            address,
            headers: request.headers,
            body: request.body,
            maximumBytes: request.maximumAnswerBytes
        )
        do throws(ExchangeError) {
            let answer = try await send(http, timeout: timeout)
            let fields = answer.headers
            return .answer(
                HTTPAnswer(
                    status: answer.status,
                    retryAfter: fields.first(name: "retry-after"),
                    date: fields.first(name: "date"),
                    requestID: fields.first(name: "x-apple-request-uuid") ?? fields.first(name: "x-apple-jingle-correlation-key"),
                    body: answer.body
                )
            )
        } catch {
            return .failure(ExchangeFailure(error.kind))
        }
    }
}

extension ExchangeFailure {
    fileprivate init(_ kind: ExchangeError.Kind) {
        self =
            switch kind {
            case .timedOut: .timedOut
            case .cancelled: .shuttingDown
            case .connectionFailed, .reusedConnectionClosed: .connectionFailed
            case .tlsFailed: .tlsFailed
            case .invalidRequest: .invalidAddress
            case .invalidAnswer: .answerMalformed
            case .tooLarge: .answerTooLarge
            }
    }
}
