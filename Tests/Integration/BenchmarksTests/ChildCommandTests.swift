import TemporaryPostgres
import Testing

struct ChildCommandTests {
    @Test(arguments: [["/nonexistent/program"], ["false"]]) func `a failure does not show the arguments`(program: [String]) async throws {
        for command in [ChildCommand(program + ["postgresql://a:secret@b/c"]), ChildCommand(program + ["secret"]).bound()] {
            let process = try ChildProcess.launch(command)
            let error = await #expect(throws: ClusterError.self) { try await process.awaitSuccess() }
            let message = try #require(error?.description)
            #expect(message.contains(program[0]))
            #expect(!message.contains("secret"))
        }
    }
}
