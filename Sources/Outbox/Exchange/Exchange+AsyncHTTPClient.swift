import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL

extension Exchange {
    /// How requests are sent.
    package struct Configuration: Sendable {
        /// PEM files with additional trusted certificates, for tests and demos.
        package var extraRootPaths: [String] = []
        package var connectTimeout: Duration = .seconds(5)
        /// The longest pause while an answer is read.
        package var readTimeout: Duration = .seconds(15)

        package init() {}
    }

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
        let settings = try HTTPClient.Configuration(configuration)
        return try await HTTPClient.withHTTPClient(configuration: settings) { client in
            try await body(
                Exchange { request, timeout in
                    await within(timeout) { await client.outcome(of: request, before: .now() + TimeAmount(timeout)) }
                }
            )
        }
    }

    /// Waits for the whole answer, at most for `timeout`. The client's own deadline covers only the head of an answer, and a body that
    /// trickles in never reaches the read timeout.
    private static func within(
        _ timeout: Duration,
        _ perform: @escaping @Sendable () async -> ExchangeOutcome
    ) async -> ExchangeOutcome {
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

extension HTTPClient.Configuration {
    fileprivate init(_ configuration: Exchange.Configuration) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .fullVerification
        tls.minimumTLSVersion = .tlsv12
        tls.additionalTrustRoots = try configuration.extraRootPaths.map { .certificates(try NIOSSLCertificate.fromPEMFile($0)) }
        self.init(
            tlsConfiguration: tls,
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(configuration.connectTimeout), read: TimeAmount(configuration.readTimeout)),
            proxy: nil,
            decompression: .disabled
        )
        httpVersion = .http1Only
        // An attempt fails at once, because the outbox schedules the retries.
        connectionPool.retryConnectionEstablishment = false
        // Traces would contain addresses and sizes.
        tracing.tracer = nil
    }
}

extension HTTPClient {
    fileprivate func outcome(of request: OutboundRequest, before deadline: NIODeadline) async -> ExchangeOutcome {
        var prepared = HTTPClientRequest(url: request.url)
        prepared.method = HTTPMethod(rawValue: request.method.rawValue)
        for (name, value) in request.headers { prepared.headers.add(name: name, value: value) }
        if !request.body.isEmpty { prepared.body = .bytes(ByteBuffer(bytes: request.body)) }
        do {
            let response = try await execute(prepared, deadline: deadline)
            let body = try await response.body.collect(upTo: request.maximumAnswerBytes)
            let fields = response.headers
            return .answer(
                HTTPAnswer(
                    status: Int(response.status.code),
                    retryAfter: fields.first(name: "retry-after"),
                    date: fields.first(name: "date"),
                    requestID: fields.first(name: "x-apple-request-uuid") ?? fields.first(name: "x-apple-jingle-correlation-key"),
                    body: Array(buffer: body)
                )
            )
        } catch {
            return .failure(ExchangeFailure(error))
        }
    }
}

extension ExchangeFailure {
    private static let timeouts: [HTTPClientError] = [
        .connectTimeout, .deadlineExceeded, .readTimeout, .writeTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout,
    ]
    private static let addresses: [HTTPClientError] = [.invalidURL, .emptyHost, .emptyScheme]

    fileprivate init(_ error: any Error) {
        self =
            switch error {
            case is CancellationError: .shuttingDown
            case is NIOTooManyBytesError: .answerTooLarge
            case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: .tlsFailed
            case let error as HTTPClientError where Self.timeouts.contains(error): .timedOut
            case let error as HTTPClientError where Self.addresses.contains(error): .invalidAddress
            default: .connectionFailed
            }
    }
}
