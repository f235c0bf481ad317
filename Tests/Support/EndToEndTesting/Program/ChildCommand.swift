package import Glibc

/// A command with its environment, input and output files.
package struct ChildCommand: Sendable {
    package let arguments: [String]
    package let environment: [String: String]
    package let inputPath: String
    package let outputPath: String
    package let errorPath: String

    /// Starts the command; the kernel kills it when the calling thread ends.
    package func spawn() throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, inputPath, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, outputPath, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, errorPath, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        let command = ["setpriv", "--pdeathsig=KILL", "--"] + arguments
        let words = command.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + variables { free(text) } }
        var pid = pid_t()
        let failure = posix_spawnp(&pid, command[0], &actions, nil, words, variables)
        guard failure == 0 else {
            // Only the first: an argument may be a connection string.
            throw ProgramFailure(what: "\(arguments.first ?? "") cannot be started: \(String(cString: strerror(failure)))")
        }
        return pid
    }
}
