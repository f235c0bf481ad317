import ArgumentParser
import StrictJSON

/// `appstore-inbox import status`: shows how far imports are.
struct ImportStatus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows how far an import is, or the last hundred.",
        discussion: """
            The rate is that of the last ten minutes, without the times in which nothing could be asked. Beside the time left is what Apple's \
            limit allows. --watch shows it every second until none runs.
            """
    )

    @Argument(help: "The number of the import (default: the last hundred).") var id: Int32?
    @Flag(help: "Show it again and again, until no import runs.") var watch = false
    @OptionGroup var options: ImportOptions

    func run() async throws {
        try await options.withRegister { register in
            var shown = 0
            while true {
                let found = try await register.progress(of: id)
                let isOver = !watch || !found.contains { $0.isRunning }
                let isRedrawn = watch && StandardOutput.isTerminal && !options.json
                if isRedrawn, shown > 0 { StandardOutput.write("\u{1B}[\(shown)A\u{1B}[J") }
                if options.json || isRedrawn || !watch || isOver {
                    let lines = options.json ? found.map { JSONSerializer.text($0.json) } : found.flatMap(\.lines)
                    StandardOutput.write(lines.map { $0 + "\n" }.joined())
                    shown = lines.count
                } else {
                    StandardOutput.write(found.filter(\.isRunning).map { "import \($0.id) \($0.bar)\n" }.joined())
                }
                if found.isEmpty, !options.json { StandardOutput.write("There are no imports.\n") }
                if isOver { return }
                try await Task.sleep(for: isRedrawn ? .seconds(1) : .seconds(10))
            }
        }
    }
}
