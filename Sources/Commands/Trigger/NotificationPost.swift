import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix

/// Where a notification is posted: plain HTTP, as behind a proxy that ends TLS.
struct NotificationPost {
    private let host: String
    private let port: Int
    private let path: String

    /// Reads `http://HOST[:PORT]/PATH`.
    init?(url text: String) {
        guard let url = URL(string: text), url.scheme == "http", let host = url.host(), !host.isEmpty else { return nil }
        self.host = host
        port = url.port ?? 80
        path = url.path().isEmpty ? "/" : url.path()
    }

    /// Sends the body on a connection of its own and returns the answer's status.
    func send(_ body: [UInt8]) async throws -> Int {
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connectTimeout(.seconds(5))
        let channel = try await bootstrap.connect(host: host, port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHTTPClientHandlers()
                return try NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>(wrappingChannelSynchronously: channel)
            }
        }
        let head = HTTPRequestHead(
            version: .http1_1,
            method: .POST,
            uri: path,
            headers: [
                "host": "\(host):\(port)", "content-type": "application/json", "content-length": "\(body.count)", "connection": "close",
            ]
        )
        return try await channel.executeThenClose { answers, requests in
            try await requests.write(.head(head))
            try await requests.write(.body(.byteBuffer(ByteBuffer(bytes: body))))
            try await requests.write(.end(nil))
            for try await part in answers {
                if case .head(let answer) = part { return Int(answer.status.code) }
            }
            throw ChannelError.eof
        }
    }
}
