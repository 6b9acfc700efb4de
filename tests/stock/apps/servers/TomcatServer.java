// SPDX-License-Identifier: BSD-2-Clause
// Tomcat on a port of this machine, with a folder of its own: its arguments.
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

public class TomcatServer {
	public static void main(String[] args) throws Exception
	{
		Tomcat server = new Tomcat();
		server.setBaseDir(args[1]);
		server.setHostname("127.0.0.1");
		server.setPort(Integer.parseInt(args[0]));
		Context context = server.addContext("", args[1]);
		Tomcat.addServlet(context, "work", new HttpServlet() {
			@Override protected void doGet(HttpServletRequest request, HttpServletResponse response)
				throws IOException
			{
				response.getWriter().print(Work.of(request.getQueryString()));
			}
		});
		context.addServletMappingDecoded("/", "work");
		server.getConnector();
		server.start();
		System.out.println("ready");
		server.getServer().await();
	}
}
