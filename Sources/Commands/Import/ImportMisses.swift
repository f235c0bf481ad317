import ArgumentParser
import StrictJSON

/// `appstore-inbox import misses`: lists the ids that brought nothing.
struct ImportMisses: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "misses",
        abstract: "Lists the ids that Apple did not know or refused, users that could not become owners, and tokens that were refused.",
        discussion: "What --csv prints can be imported again."
    )

    @Argument(help: "The number of the import.") var id: Int32
    @Flag(help: "Print CSV with a header.") var csv = false
    @OptionGroup var options: ImportOptions

    func validate() throws {
        if csv, options.json { throw ValidationError("--csv and --json exclude each other") }
    }

    func run() async throws {
        try await options.withRegister { register in
            let lastLine = try await register.progress(of: id).first?.lastLine ?? 0
            if csv { StandardOutput.write(ImportMiss.csv(ImportMiss.head) + "\r\n") }
            var isFirst = true
            for line in stride(from: 0, to: lastLine, by: ImportRegister.page) {
                let misses = try await register.misses(of: id, after: line)
                if misses.isEmpty { continue }
                if csv {
                    StandardOutput.write(misses.map { ImportMiss.csv($0.fields) + "\r\n" }.joined())
                } else if options.json {
                    StandardOutput.write(misses.map { JSONSerializer.text($0.json) + "\n" }.joined())
                } else {
                    let head = isFirst ? [ImportMiss.head.map { $0.uppercased() }] : []
                    let lines = Columns.lines(head + misses.map { $0.fields.map(\.onOneLineSafely) })
                    StandardOutput.write(lines.map { $0 + "\n" }.joined())
                }
                isFirst = false
            }
            if isFirst, !csv, !options.json { StandardOutput.write("There are none.\n") }
        }
    }
}
