package import Postgres

/// The statements of imports; each file documents its statement.
extension StatementFile {
    package static let importBegin = StatementFile(name: "import_begin", bytes: EmbeddedFiles.import_begin_sql)
    package static let importAddItems = StatementFile(name: "import_add_items", bytes: EmbeddedFiles.import_add_items_sql)
    package static let importFinish = StatementFile(name: "import_finish", bytes: EmbeddedFiles.import_finish_sql)
    package static let importChange = StatementFile(name: "import_change", bytes: EmbeddedFiles.import_change_sql)
    package static let importReadStatus = StatementFile(name: "import_read_status", bytes: EmbeddedFiles.import_read_status_sql)
    package static let importReadMisses = StatementFile(name: "import_read_misses", bytes: EmbeddedFiles.import_read_misses_sql)
    package static let importReadStatistics = StatementFile(
        name: "import_read_statistics",
        bytes: EmbeddedFiles.import_read_statistics_sql
    )
    package static let importLease = StatementFile(name: "import_lease", bytes: EmbeddedFiles.import_lease_sql)
    package static let importSettle = StatementFile(name: "import_settle", bytes: EmbeddedFiles.import_settle_sql)
    package static let importMiss = StatementFile(name: "import_miss", bytes: EmbeddedFiles.import_miss_sql)
    package static let importRenewLease = StatementFile(name: "import_renew_lease", bytes: EmbeddedFiles.import_renew_lease_sql)
    package static let importEndLease = StatementFile(name: "import_end_lease", bytes: EmbeddedFiles.import_end_lease_sql)
    package static let importLinkOwners = StatementFile(name: "import_link_owners", bytes: EmbeddedFiles.import_link_owners_sql)

    /// All of this file.
    package static let imports = [
        importBegin, importAddItems, importFinish, importChange, importReadStatus, importReadMisses, importReadStatistics, importLease,
        importSettle, importMiss, importRenewLease, importEndLease, importLinkOwners,
    ]
}
