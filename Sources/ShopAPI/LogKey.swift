/// The keys of this module's log metadata.
enum LogKey {
    static let error = "error"
    static let statement = "statement"
}
