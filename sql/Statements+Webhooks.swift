package import Postgres

/// The statements of the dispatcher of webhooks and of its metrics; each file documents its statement.
extension StatementFile {
    package static let webhookLease = StatementFile(name: "webhook_lease", bytes: EmbeddedFiles.webhook_lease_sql)
    package static let webhookPoll = StatementFile(name: "webhook_poll", bytes: EmbeddedFiles.webhook_poll_sql)
    package static let webhookTake = StatementFile(name: "webhook_take", bytes: EmbeddedFiles.webhook_take_sql)
    package static let webhookSettle = StatementFile(name: "webhook_settle", bytes: EmbeddedFiles.webhook_settle_sql)
    package static let webhookRelease = StatementFile(name: "webhook_release", bytes: EmbeddedFiles.webhook_release_sql)

    /// All of this file.
    package static let webhooks = [
        webhookLease, webhookPoll, webhookTake, webhookSettle, webhookRelease,
    ]
}
