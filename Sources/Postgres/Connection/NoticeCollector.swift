import CLibPQ
import Logging

/// Receives the server's notices. Confined to the connection's thread, like the PGconn that calls it.
final class NoticeCollector {
    /// A server message that is not the result of a statement.
    struct Notice {
        let severity: String
        let sqlState: SQLState
        let message: String
        /// The C function of the server that raised it.
        let routine: String
    }

    private(set) var warnings: [Notice] = []
    /// Why the server closes the connection; a notice if no statement is in flight.
    private(set) var fatalNotice: Notice?
    private let logger: Logger
    private let logsTexts: Bool

    /// - Parameter logsTexts: as ``ConnectionOptions/logsNotices``.
    init(logger: Logger, logsTexts: Bool) {
        self.logger = logger
        self.logsTexts = logsTexts
    }

    func removeWarnings() {
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

    /// Borrows `result`, which libpq frees after the call.
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
        case "FATAL", "PANIC": fatalNotice = notice
        default: break
        }
        var metadata: Logger.Metadata = [LogKey.severity: "\(notice.severity)", LogKey.sqlState: "\(notice.sqlState)"]
        // RAISE of PL/pgSQL. Other notices tell what IF EXISTS and CASCADE have done.
        let isMeant = notice.severity == "WARNING" || notice.routine == "exec_stmt_raise"
        guard logsTexts, isMeant else { return logger.debug("server notice", metadata: metadata) }
        metadata[LogKey.message] = "\(notice.message)"
        logger.notice("server notice", metadata: metadata)
    }
}
