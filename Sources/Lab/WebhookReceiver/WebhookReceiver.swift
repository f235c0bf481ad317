import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A receiver of webhooks on the loopback interface, for tests and demos.
package final class WebhookReceiver: Sendable {
    /// What it answers.
    package struct Answer: Sendable {
        package var status: Int
        package var headers: [(String, String)] = []
        package var body = ""
        /// How long it waits before it answers.
        package var delay: Duration = .zero

        package init(_ status: Int, headers: [(String, String)] = [], body: String = "", after delay: Duration = .zero) {
            (self.status, self.headers, self.body, self.delay) = (status, headers, body, delay)
        }
    }

    private let answer: @Sendable (ReceivedWebhook) -> Answer
    private let webhooks = Mutex<[ReceivedWebhook]>([])
    private let channels = Mutex<[any Channel]>([])
    /// Made once, before event loops need its metadata: see `HTTPListener`.
    private static let codec: Void = { _ = ByteToMessageHandler(HTTPRequestDecoder()) }()

    private init(_ answer: @escaping @Sendable (ReceivedWebhook) -> Answer) {
        Self.codec
        self.answer = answer
    }

    /// Starts a receiver.
    ///
    /// - Parameters:
    ///   - port: 0 takes a free port.
    ///   - answer: called for each webhook.
    package static func start(
        port: Int = 0,
        answer: @escaping @Sendable (ReceivedWebhook) -> Answer = { _ in Answer(204) }
    ) async throws -> WebhookReceiver {
        let receiver = WebhookReceiver(answer)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                receiver.channels.withLock { $0.append(channel) }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withErrorHandling: false)
                    try channel.pipeline.syncOperations.addHandler(WebhookHandler(receiver))
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        receiver.channels.withLock { $0.insert(listener, at: 0) }
        return receiver
    }

    /// Stops listening, and closes all connections.
    package func stop() {
        for channel in channels.withLock({ $0 }) { channel.close(promise: nil) }
    }

    package var port: Int { channels.withLock { $0.first?.localAddress?.port } ?? 0 }

    package var url: String { "http://127.0.0.1:\(port)/webhooks" }

    /// All webhooks so far, in the order of their arrival.
    package var received: [ReceivedWebhook] { webhooks.withLock { $0 } }

    package var count: Int { webhooks.withLock(\.count) }

    func receive(_ webhook: ReceivedWebhook) -> Answer {
        webhooks.withLock { $0.append(webhook) }
        return answer(webhook)
    }
}
