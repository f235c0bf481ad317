import CLibPQ
import Logging

/// Receives what the server says aside from answers. Confined to the connection's thread, like the PGconn that calls it.
final class NoticeCollector {
    /// A server message that ends nothing.
    struct Notice {
        let severity: String
        let sqlState: SQLState
        let message: String
        /// The C function of the server that raised it.
        let routine: String
    }

    private(set) var warnings: [Notice] = []
    /// The server's farewell, which arrives as a notice when no statement is under way.
    private(set) var farewell: Notice?
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    func forgetWarnings() {
        warnings.removeAll()
    }

    /// Registers this object with `connection`, which must not outlive it.
    func listen(to connection: OpaquePointer) {
        PQsetNoticeReceiver(
            connection,
            { context, result in
                guard let context, let result else { return }
                Unmanaged<NoticeCollector>.fromOpaque(context).takeUnretainedValue().receive(result)
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// `result` stays libpq's, which clears it after the call.
    private func receive(_ result: OpaquePointer) {
        func text(_ field: Int32) -> String { PQresultErrorField(result, field).map { String(cString: $0) } ?? "" }
        let notice = Notice(
            severity: text(clibpq_severity),
            sqlState: SQLState(rawValue: text(clibpq_sqlstate)),
            message: text(clibpq_message_primary),
            routine: text(clibpq_source_function)
        )
        switch notice.severity {
        case "WARNING": warnings.append(notice)
        case "FATAL", "PANIC": farewell = notice
        default: break
        }
        logger.debug(
            "server notice",
            metadata: [LogKey.severity: "\(notice.severity)", LogKey.sqlState: "\(notice.sqlState)"]
        )
    }
}
