import ArgumentParser

/// `appstore-inbox import pause`.
struct ImportPause: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Lets the workers ask nothing more for an import, until resume."
    )

    @Argument(help: "The number of the import.") var id: Int32
    @OptionGroup var options: ImportOptions

    func run() async throws { try await options.change(id, to: "paused") }
}

/// `appstore-inbox import resume`.
struct ImportResume: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Lets an import that was paused or stopped go on where it was."
    )

    @Argument(help: "The number of the import.") var id: Int32
    @OptionGroup var options: ImportOptions

    func run() async throws { try await options.change(id, to: "running") }
}

/// `appstore-inbox import stop`.
struct ImportStop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Ends an import. Users of ids that Apple has answered become owners; the other ids are misses. They go 90 days later."
    )

    @Argument(help: "The number of the import.") var id: Int32
    @OptionGroup var options: ImportOptions

    func run() async throws { try await options.change(id, to: "stopped") }
}

extension ImportOptions {
    fileprivate func change(_ id: Int32, to state: String) async throws {
        let found = try await withRegister(changing: true) { register in
            _ = try await register.progress(of: id)
            try await register.change(id, to: state)
            return try await register.progress(of: id)
        }
        for progress in found { self.print(progress.json, "import \(progress.id) is \(progress.state)") }
    }
}
