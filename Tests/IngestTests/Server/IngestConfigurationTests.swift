import HTTPServing
import Testing

@testable import Ingest

struct IngestConfigurationTests {
    @Test func `is valid by default`() throws {
        try IngestServer.Configuration().validate()
    }

    @Test func `names the limit that is wrong`() {
        var configuration = IngestServer.Configuration()
        configuration.limits.maximumBytesInMemory = 1
        let error = #expect(throws: ServerError.self) { try configuration.validate() }
        #expect(error?.description == "maximumBytesInMemory: 1 is not at least 262144")
    }

    @Test func `cannot have one address twice`() {
        var configuration = IngestServer.Configuration()
        configuration.adminListen = configuration.listen
        #expect(throws: ServerError.self) { try configuration.validate() }
    }
}
