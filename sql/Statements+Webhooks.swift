package import Postgres

/// The statements of the dispatcher of webhooks and of its metrics; each file documents its statement.
extension StatementFile {
    package static let webhookLease = StatementFile(name: "webhook_lease", bytes: PackageResources.webhook_lease_sql)
    package static let webhookPoll = StatementFile(name: "webhook_poll", bytes: PackageResources.webhook_poll_sql)
    package static let webhookTake = StatementFile(name: "webhook_take", bytes: PackageResources.webhook_take_sql)
    package static let webhookSettle = StatementFile(name: "webhook_settle", bytes: PackageResources.webhook_settle_sql)
    package static let webhookRelease = StatementFile(name: "webhook_release", bytes: PackageResources.webhook_release_sql)

    /// All of this file.
    package static let webhooks = [
        webhookLease, webhookPoll, webhookTake, webhookSettle, webhookRelease,
    ]
}
