# GET /random?num=N with Phoenix: a JSON list of N random numbers, each as a string of six digits.

defmodule Technology.ErrorJSON do
  def render(template, _assigns), do: %{error: Phoenix.Controller.status_message_from_template(template)}
end

defmodule Technology.Controller do
  use Phoenix.Controller, formats: [:json]

  def random(conn, params) do
    case Integer.parse(Map.get(params, "num", "10")) do
      {num, ""} when num in 0..100_000 -> json(conn, for(_ <- 1..num//1, do: number()))
      _ -> conn |> put_status(400) |> json(%{error: "num is a number from 0 to 100000"})
    end
  end

  defp number do
    (:rand.uniform(1_000_000) - 1) |> Integer.to_string() |> String.pad_leading(6, "0")
  end
end

defmodule Technology.Router do
  use Phoenix.Router, helpers: false
  import Phoenix.Controller, only: [accepts: 2]

  pipeline :api do
    plug :accepts, ["json"]
  end

  scope "/", Technology do
    pipe_through :api
    get "/random", Controller, :random
  end
end

defmodule Technology.Endpoint do
  use Phoenix.Endpoint, otp_app: :technology
  plug Technology.Router
end

defmodule Technology.Application do
  use Application

  def start(_type, _args) do
    Supervisor.start_link([Technology.Endpoint], strategy: :one_for_one)
  end
end
