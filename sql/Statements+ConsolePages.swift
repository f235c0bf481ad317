package import Postgres

/// The statements of the console's pages about events, customers, outgoing, repairs and reports; each file documents its statement.
extension StatementFile {
    /// All of this file.
    package static let consolePages: [StatementFile] = []
}
