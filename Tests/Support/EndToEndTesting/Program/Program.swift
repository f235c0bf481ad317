import Foundation
import Glibc

/// Runs commands of the built program to their end.
package enum Program {
    /// The result of a command.
    package struct Result: Sendable {
        package let ending: Ending
        package let output: String
        package let errors: String

        /// The JSON object on standard output.
        package func json() throws -> JSONDocument { try JSONDocument(output) }
    }

    /// Runs one command.
    ///
    /// - Parameters:
    ///   - program: another build of the program than the one beside the tests.
    ///   - body: runs beside the command.
    package static func run(
        _ arguments: [String],
        settings: [String: String] = [:],
        input: [UInt8]? = nil,
        program: String? = nil,
        within duration: Duration = .seconds(30),
        beside body: (RunningProgram) async throws -> Void = { _ in }
    ) async throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appending(path: "appstore-inbox-run-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (output, errors) = (folder.appending(path: "output"), folder.appending(path: "errors"))
        let inputFile = folder.appending(path: "input")
        if let input { try Data(input).write(to: inputFile) }
        let process = try RunningProgram.start(
            [BuiltProgram.path(orThatOf: program)] + arguments,
            settings: settings,
            input: input == nil ? "/dev/null" : inputFile.path,
            output: output.path,
            errors: errors.path
        )
        try await body(process)
        let ending = try await process.ending(within: duration)
        if ending == nil {
            process.signal(SIGKILL)
            _ = try await process.ending(within: .seconds(10))
        }
        let written = try String(contentsOf: errors, encoding: .utf8)
        guard let ending else {
            throw ProgramFailure(what: "\(arguments.first ?? BuiltProgram.name) did not end within \(duration)", log: written)
        }
        return Result(ending: ending, output: try String(contentsOf: output, encoding: .utf8), errors: written)
    }
}
