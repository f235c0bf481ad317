import AppStore
import FoundationEssentials
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// Where notifications are posted: plain HTTP, as behind a proxy that ends TLS. Keeps its connections for the next post.
final class NotificationPost: Sendable {
    /// What was answered to a post.
    struct Answer: Hashable, Sendable {
        let status: Int
        /// How long to wait before the next attempt, where the server says so.
        let retryAfter: Duration?
    }

    /// Nobody knows whether the body was taken; to post it again does no harm.
    struct NoAnswer: Error, CustomStringConvertible {
        let description: String
    }

    private enum Place {
        case tcp(host: String, port: Int)
        case unix(path: String)
    }

    private static let notifications = "/apple/v2/notifications"
    private static let legacyNotifications = "/apple/v1/notifications"
    private static let patience = TimeAmount.seconds(30)

    private let place: Place
    private let path: String
    private let idle = Mutex<[any Channel]>([])

    private init(_ place: Place, path: String) {
        self.place = place
        self.path = path
    }

    /// Reads `http://HOST[:PORT]/PATH`.
    convenience init?(url text: String) {
        guard let url = URL(string: text), url.scheme == "http", let host = url.host(), !host.isEmpty else { return nil }
        self.init(.tcp(host: host, port: url.port ?? 80), path: url.path().isEmpty ? "/" : url.path())
    }

    /// The URL, or else the ingest of this machine as its settings have it.
    ///
    /// - Throws: ``SettingsError``, also where ingest listens on a port that nobody can know.
    static func configured(url: String?) throws(SettingsError) -> NotificationPost {
        if let url, let post = NotificationPost(url: url) { return post }
        let reader = try SettingsReader(flags: [:], environment: ProcessInfo.processInfo.environment)
        let address = "\(try reader.required(Settings.listen))"
        if address.hasPrefix("unix:") { return NotificationPost(.unix(path: String(address.dropFirst(5))), path: notifications) }
        // Where a server listens on all addresses, it listens on the loopback too.
        let host = address.replacing("0.0.0.0:", with: "127.0.0.1:", maxReplacements: 1).replacing("[::]:", with: "[::1]:")
        guard !host.hasSuffix(":0"), let post = NotificationPost(url: "http://\(host)\(notifications)") else {
            throw SettingsError(["\(Settings.listen.description.name) is \(address): nobody can post there without being told the port"])
        }
        return post
    }

    /// Where a body goes: a notification V1 to the address beside that of the others, unless there is one address for all.
    func path(for kind: NotificationV1Body.Kind) -> String {
        guard kind == .notificationV1, path.hasSuffix(Self.notifications) else { return path }
        return path.dropLast(Self.notifications.count) + Self.legacyNotifications
    }

    /// Sends the body and returns what was answered.
    func send(_ body: [UInt8], as kind: NotificationV1Body.Kind = .notificationV2) async throws(NoAnswer) -> Answer {
        do {
            let channel = try await connection()
            let deadline = channel.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
            defer { deadline.cancel() }
            do {
                let answered = try await exchange(body, at: path(for: kind), on: channel)
                if answered.keepsConnection { idle.withLock { $0.append(channel) } } else { channel.close(promise: nil) }
                return answered.answer
            } catch {
                channel.close(promise: nil)
                throw error
            }
        } catch {
            throw NoAnswer(description: "no answer from \(name): \(Self.words(error))")
        }
    }

    private func exchange(_ body: [UInt8], at path: String, on channel: any Channel) async throws -> PostExchange.Answered {
        let promise = channel.eventLoop.makePromise(of: PostExchange.Answered.self)
        let exchange = PostExchange(head: head(path, length: body.count), body: ByteBuffer(bytes: body), answered: promise)
        channel.writeAndFlush(exchange).cascadeFailure(to: promise)
        return try await promise.futureResult.get()
    }

    /// Closes the connections that are kept.
    func close() {
        for channel in idle.withLock({ $0 }) { channel.close(promise: nil) }
    }

    private func connection() async throws -> any Channel {
        while let channel = idle.withLock({ $0.popLast() }) {
            if channel.isActive { return channel }
        }
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connectTimeout(.seconds(5)).channelInitializer {
            channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHTTPClientHandlers()
                try channel.pipeline.syncOperations.addHandler(PostExchangeHandler())
            }
        }
        switch place {
        case .tcp(let host, let port): return try await bootstrap.connect(host: host, port: port).get()
        case .unix(let path): return try await bootstrap.connect(unixDomainSocketPath: path).get()
        }
    }

    private func head(_ path: String, length: Int) -> HTTPRequestHead {
        let host =
            switch place {
            case .tcp(let host, let port): "\(host):\(port)"
            case .unix: "localhost"
            }
        return HTTPRequestHead(
            version: .http1_1,
            method: .POST,
            uri: path,
            headers: ["host": host, "content-type": "application/json", "content-length": "\(length)"]
        )
    }

    /// The operating system's words, where it is its error.
    private static func words(_ error: any Error) -> String {
        let cause = (error as? NIOConnectionError)?.connectionErrors.first?.error ?? error
        return (cause as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(cause)"
    }

    private var name: String {
        switch place {
        case .tcp(let host, let port): "\(host):\(port)"
        case .unix(let path): path
        }
    }
}
