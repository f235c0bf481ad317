import Foundation
import NIOCore
import NIOHTTP1

/// Reads the webhooks of one connection and answers them.
final class WebhookHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let receiver: WebhookReceiver
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    /// The connection of a larger webhook is closed.
    private static let maximumBodyBytes = 16 * 1024 * 1024

    init(_ receiver: WebhookReceiver) {
        self.receiver = receiver
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
        case .body(let bytes):
            body += bytes.readableBytesView
            if body.count > Self.maximumBodyBytes { context.close(promise: nil) }
        case .end:
            guard let head else { return }
            let fields = Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { $1 }
            let webhook = ReceivedWebhook(headers: fields, body: body, arrivedAt: Date().timeIntervalSince1970)
            let answer = head.method == .POST ? receiver.receive(webhook) : WebhookReceiver.Answer(405)
            let channel = context.channel
            context.eventLoop.scheduleTask(in: TimeAmount(answer.delay)) {
                Self.send(answer, over: channel, isKeptAlive: head.isKeepAlive)
            }
        }
    }

    private static func send(_ answer: WebhookReceiver.Answer, over channel: any Channel, isKeptAlive: Bool) {
        var headers = HTTPHeaders(answer.headers)
        if answer.status != 204 { headers.add(name: "content-length", value: String(answer.body.utf8.count)) }
        if !isKeptAlive { headers.add(name: "connection", value: "close") }
        let head = HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: answer.status), headers: headers)
        channel.write(HTTPServerResponsePart.head(head), promise: nil)
        if answer.status != 204 {
            channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: answer.body))), promise: nil)
        }
        let end = channel.writeAndFlush(HTTPServerResponsePart.end(nil))
        if !isKeptAlive { end.whenComplete { _ in channel.close(promise: nil) } }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The client has disconnected, or does not speak HTTP.
        context.close(promise: nil)
    }
}
