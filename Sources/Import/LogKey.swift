/// The keys of what this module logs.
enum LogKey {
    static let `import` = "import.id"
    static let app = "import.app"
    static let environment = "import.environment"
    static let line = "import.line"
    static let reason = "import.reason"
}
