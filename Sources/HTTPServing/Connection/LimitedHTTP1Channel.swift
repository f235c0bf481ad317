import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// Hummingbird's HTTP/1.1 channel with a `RequestLimitsHandler` behind the codec.
struct LimitedHTTP1Channel: ServerChildChannel {
    private let base: HTTP1Channel
    private let makeLimitsHandler: @Sendable () -> RequestLimitsHandler

    init(
        responder: @escaping HTTPChannelHandler.Responder,
        limits: ConnectionLimits,
        makeLimitsHandler: @escaping @Sendable () -> RequestLimitsHandler
    ) {
        var configuration = HTTP1Channel.Configuration()
        configuration.httpDecoder = .init(
            maxHeaderFieldSize: limits.maximumHeadBytes,
            maxHeaderListSize: limits.maximumHeadBytes,
            maxHeaderFieldCount: limits.maximumHeadFields
        )
        base = HTTP1Channel(responder: responder, configuration: configuration)
        self.makeLimitsHandler = makeLimitsHandler
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(makeLimitsHandler(), position: .after(decoder))
            return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}
