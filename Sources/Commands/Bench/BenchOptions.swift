import ArgumentParser
import Benchmarks
import FoundationEssentials
import PrivateCluster

/// What all benchmarks have in common: how the result is shown, and what ends it.
struct BenchOptions: ParsableArguments {
    @Flag(help: "Print one JSON object.") var json = false
    @Flag(help: "Say nothing on standard error about how far it is.") var quiet = false
    @Option(help: "The appstore-inbox to be measured, such as an older one; this very program unless given.") var program: String?
    @Flag(help: "Exit with 1 when an aim is missed.") var requireAims = false

    /// Refuses `--program` where nothing but this very program can be measured.
    func requireThisProgram(for what: String) throws {
        guard program == nil else { throw ValidationError("--program does not go with \(what), which measures this very program") }
    }

    /// Runs the benchmark of a command and prints its report.
    func run(_ command: (some ParsableCommand).Type, _ measure: (BenchmarkEnvironment) async throws -> BenchmarkReport) async throws {
        EndingSignals.cleanUp()
        let environment = BenchmarkEnvironment(program: try path(), isThisProgram: program == nil, progress: progress)
        let report: BenchmarkReport
        do {
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

    /// Nothing could be measured, and by which benchmark.
    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// EX_UNAVAILABLE of sysexits(3).
    private static let unavailable: Int32 = 69

    private var progress: @Sendable (String) -> Void {
        let isQuiet = quiet
        return { text in if !isQuiet { LogOutput.standardError.write("\(text)\n") } }
    }

    /// What is measured was built together with the benchmark, unless another one is named.
    private func path() throws -> String {
        try program ?? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }
}
