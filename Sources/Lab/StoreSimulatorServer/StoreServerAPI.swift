package import AppStore
import NIOCore
import NIOHTTP1
package import StoreSimulator
import Synchronization

/// A simulated App Store Server API on the loopback interface, with a port for each of the two environments.
package final class StoreServerAPI: Sendable {
    /// How the server behaves.
    package struct Configuration: Sendable {
        /// The port of each environment; 0 or none takes a free port.
        package var ports: [AppStoreEnvironment: Int] = [:]
        /// The certificate for TLS; nil serves plain HTTP.
        package var identity: SimulatedHostIdentity?
        /// The root, in PEM, of the servers that notifications are posted to; nil trusts the system's.
        package var notificationRootPEM: String?
        /// How long an attempt to post a notification may take.
        package var notificationTimeout = Duration.seconds(10)
        /// The store's time.
        package var now: @Sendable () -> Timestamp

        package init(now: @escaping @Sendable () -> Timestamp) {
            self.now = now
        }
    }

    /// Something that the server did.
    package enum Event: Hashable, Sendable {
        /// It has answered a request, or holds the answer.
        case answered(ServerAPICall)
        /// It has posted a notification.
        case posted(SendAttemptResult)
    }

    private let state: Mutex<SimulatedServerAPI>
    private let configuration: Configuration
    private let hosts = SimulatedHosts<AppStoreEnvironment>()
    private let continuation: AsyncStream<Event>.Continuation
    /// Events as they happen, for one consumer. Of unread events, the newest 1000 are kept.
    package let events: AsyncStream<Event>

    private init(_ api: SimulatedServerAPI, _ configuration: Configuration) {
        state = Mutex(api)
        self.configuration = configuration
        (events, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1000))
    }

    /// Starts a server on the loopback interface.
    package static func start(_ api: SimulatedServerAPI, _ configuration: Configuration) async throws -> StoreServerAPI {
        let server = StoreServerAPI(api, configuration)
        do {
            for environment in [AppStoreEnvironment.production, .sandbox] {
                let port = configuration.ports[environment] ?? 0
                try await server.hosts.listen(as: environment, port: port, configuration.identity) { head, body in
                    server.reply(to: head, body, in: environment)
                }
            }
        } catch {
            await server.stop()
            throw error
        }
        return server
    }

    /// Runs `body` with a server, which is stopped afterwards.
    package static func with<T: Sendable>(
        _ api: SimulatedServerAPI,
        _ configuration: Configuration,
        _ body: (StoreServerAPI) async throws -> T
    ) async throws -> T {
        let server = try await start(api, configuration)
        defer { server.continuation.finish() }
        return try await server.hosts.whileServing { try await body(server) }
    }

    /// Stops the server and closes all connections, answered or not.
    package func stop() async {
        await hosts.stop()
        continuation.finish()
    }

    /// The base URL of an environment, without a slash at its end; nil when the server has stopped.
    package func address(of environment: AppStoreEnvironment) -> String? {
        hosts.port(of: environment).map { "\(configuration.identity == nil ? "http" : "https")://localhost:\($0)" }
    }

    /// Reads or changes what the server knows: customers, notifications, faults, limits. It returns what `body` does.
    package func access<T: Sendable, E: Error>(_ body: (inout SimulatedServerAPI) throws(E) -> T) throws(E) -> T {
        try state.withLock { api throws(E) in try body(&api) }
    }

    /// All requests so far, in the order of their arrival.
    package var calls: [ServerAPICall] { access { $0.calls } }

    /// Sends all held answers.
    package func release() { hosts.release() }

    /// Posts a notification to its app's URL, if there is one, and records the attempt.
    package func post(_ signed: SignedNotification) {
        let posts = access { api in
            api.send(signed)
            return api.takePosts()
        }
        send(posts, at: configuration.now())
    }

    private func reply(
        to head: HTTPRequestHead,
        _ body: [UInt8],
        in environment: AppStoreEnvironment
    ) -> (reply: SimulatedReply, then: @Sendable () -> Void) {
        let scheme = "Bearer "
        let token = head.headers.first(name: "authorization").flatMap { $0.hasPrefix(scheme) ? String($0.dropFirst(scheme.count)) : nil }
        let request = ServerAPIRequest(head.method.rawValue, head.uri, in: environment, token: token, body: body)
        let now = configuration.now()
        let (reply, call, posts) = access { api in
            let reply = api.reply(to: request, at: now)
            return (reply, api.calls.last, api.takePosts())
        }
        return (
            reply,
            {
                if let call { self.continuation.yield(.answered(call)) }
                self.send(posts, at: now)
            }
        )
    }

    /// Posts notifications and records the results.
    private func send(_ posts: [(url: String, signed: SignedNotification)], at now: Timestamp) {
        for post in posts {
            let notification = post.signed.notification
            let place = ServerAPIPlace(notification.app.bundleID, notification.app.environment)
            NotificationPost.send(
                post.signed.body,
                to: post.url,
                trusting: configuration.notificationRootPEM,
                timeout: TimeAmount(configuration.notificationTimeout)
            ).whenSuccess { result in
                let attempt = PushAttempt(date: now, result: result)
                _ = self.access { $0.record(attempt, of: notification.notificationUUID, at: place) }
                self.continuation.yield(.posted(result))
            }
        }
    }
}
