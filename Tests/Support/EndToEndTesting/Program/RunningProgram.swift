import PostgresTesting
import TemporaryPostgres

/// How a process of the program ended.
package enum Ending: Hashable, Sendable {
    case exit(Int32)
    case signal(Int32)
}

/// A process of the built program, whose input and output are files. The kernel kills it when the test process ends.
package struct RunningProgram: Sendable {
    private let process: ChildProcess

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - words: its path or name, and its arguments.
    ///   - input: a file, as are the others.
    package static func start(
        _ words: [String],
        settings: [String: String],
        input: String = "/dev/null",
        output: String,
        errors: String
    ) throws -> RunningProgram {
        // The shell redirects its streams and then becomes the program.
        let script = #"in=$1 out=$2 err=$3; shift 3; exec "$@" <"$in" >>"$out" 2>>"$err""#
        let command = ["sh", "-c", script, "sh", input, output, errors] + words
        let environment = BuiltProgram.environment(settings)
        return RunningProgram(process: try ChildProcess.launch(ChildCommand(command, environment: environment).bound()))
    }

    /// How it ended; nil while it runs.
    package var ending: Ending? {
        switch process.ending {
        case .exit(let code): .exit(code)
        case .signal(let signal): .signal(signal)
        case nil: nil
        }
    }

    package func signal(_ signal: Int32) {
        process.signal(signal)
    }

    /// Waits for the end; nil when it still runs after the duration.
    package func ending(within duration: Duration) async throws -> Ending? {
        let deadline = Deadline(within: duration)
        while ending == nil, !deadline.hasPassed { try await pauseBriefly() }
        return ending
    }
}
