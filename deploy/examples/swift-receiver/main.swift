// A receiver of webhooks:
//   PORT=3000 WEBHOOK_SECRET_FILE=webhook.secret swift run webhook-receiver-example
// The file has a line for each secret that is valid.
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// What a receiver needs to know of an entry.
struct Event: Decodable {
    struct Details: Decodable {
        let user: String?
        let subject: String?
    }

    let id: String
    let type: String
    let position: Int64
    let data: Details
}

/// What your backend does. An entry may come twice, and one that failed comes after later ones. So keep, in your database and in one
/// transaction with what you do, the id of each entry that you have handled, and for each subject the greatest generation and position.
actor Backend {
    private var handled: Set<String> = []

    func handle(_ event: Event) {
        guard handled.insert(event.id).inserted else { return }
        say([event.type, event.data.user ?? "-", event.data.subject ?? "-", "#\(event.position)"].joined(separator: " "))
    }
}

/// Prints a line at once, also into a file.
func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}

let environment = ProcessInfo.processInfo.environment
guard let path = environment["WEBHOOK_SECRET_FILE"], let text = try? String(contentsOfFile: path, encoding: .utf8),
    let verifier = WebhookVerifier(text)
else { fatalError("WEBHOOK_SECRET_FILE names no file with secrets such as whsec_…") }
let backend = Backend()

/// The status of the answer to a webhook.
func receive(_ head: HTTPRequestHead, _ body: ByteBuffer) async -> HTTPResponseStatus {
    let data = Data(body.readableBytesView)
    guard verifier.isGenuine({ head.headers.first(name: $0) }, body: data) else { return .unauthorized }
    do {
        await backend.handle(try JSONDecoder().decode(Event.self, from: data))
        return .noContent  // only now: anything else is sent again
    } catch {
        return .internalServerError
    }
}

let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
    .bind(host: "127.0.0.1", port: Int(environment["PORT"] ?? "3000") ?? 3000) { channel in
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.configureHTTPServerPipeline()
            try channel.pipeline.syncOperations.addHandler(NIOHTTPServerRequestAggregator(maxContentLength: 1_048_576))
            return try NIOAsyncChannel<NIOHTTPServerRequestFull, HTTPServerResponsePart>(wrappingChannelSynchronously: channel)
        }
    }
say("http://127.0.0.1:\(server.channel.localAddress?.port ?? 0)/webhooks")
try await withThrowingDiscardingTaskGroup { group in
    try await server.executeThenClose { connections in
        for try await connection in connections {
            group.addTask {
                // A connection that breaks is not the end of the server: the webhook is sent again.
                try? await connection.executeThenClose { requests, answers in
                    for try await request in requests {
                        let status = await receive(request.head, request.body ?? ByteBuffer())
                        try await answers.write(.head(HTTPResponseHead(version: .http1_1, status: status, headers: [:])))
                        try await answers.write(.end(nil))
                    }
                }
            }
        }
    }
}
