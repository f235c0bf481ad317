import ArgumentParser
import Benchmarks
import Commands
import TemporaryPostgres

/// Options of all benchmarks.
struct BenchOptions: ParsableArguments {
    @Flag(help: "Print one JSON object.") var json = false
    @Flag(help: "Print no progress on standard error.") var quiet = false
    @Option(help: "The appstore-inbox to measure, such as an older one (default: the one beside appstore-inbox-lab).") var program: String?
    @Flag(help: "Exit with 1 if an aim is missed.") var requireAims = false

    /// Refuses `--program` for a benchmark that calls the measured code in this process.
    func requireSameBuild(for what: String) throws {
        guard program == nil else { throw ValidationError("--program does not go with \(what), which measures code inside the lab itself") }
    }

    /// Runs the benchmark of a command and prints its report.
    func run(_ command: (some ParsableCommand).Type, _ measure: (BenchmarkEnvironment) async throws -> BenchmarkReport) async throws {
        TerminationHandler.cleanUp()
        let report: BenchmarkReport
        do {
            let path = try program ?? BuiltProduct.path(of: "appstore-inbox")
            let environment = BenchmarkEnvironment(program: path, isSameBuild: program == nil, progress: progress)
            report = try await measure(environment)
        } catch let error as ClusterError where error.code == .programMissing {
            LogOutput.standardError.write("\(error)\n")
            throw ExitCode(Self.unavailable)
        } catch let error as BenchmarkError {
            throw Failure(description: "bench \(command.configuration.commandName ?? ""): \(error)")
        }
        print(json ? try report.json : report.text)
        if requireAims, !report.meetsItsAims { throw ExitCode.failure }
    }

    /// A benchmark that failed, with its name.
    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// EX_UNAVAILABLE of sysexits(3).
    private static let unavailable: Int32 = 69

    private var progress: @Sendable (String) -> Void {
        let isQuiet = quiet
        return { text in if !isQuiet { LogOutput.standardError.write("\(text)\n") } }
    }
}
